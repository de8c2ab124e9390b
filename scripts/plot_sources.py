"""Plots the result of the polling simulation: plot_sources.py TABLE PICTURE."""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

GROUPS = [
    ("active", "several times a day", "#1f5fa8"),
    ("weekly", "several times a week", "#d9822b"),
    ("dormant", "hardly ever", "#8a8f98"),
]


def read(table):
    """Requests and delays in minutes by group, each with its hour."""
    rows = {(kind, name): [] for kind in ("requests", "delay") for name, _, _ in GROUPS}
    with open(table, newline="") as lines:
        for row in csv.DictReader(lines):
            rows[row["kind"], row["group"]].append((float(row["hour"]), float(row["value"])))
    return rows


def draw_requests(axes, rows):
    days = [hour / 24 for hour, _ in rows["requests", "active"]]
    counts = [[count for _, count in rows["requests", name]] for name, _, _ in GROUPS]
    labels = [label for _, label, _ in GROUPS]
    axes.stackplot(days, counts, labels=labels, colors=[colour for _, _, colour in GROUPS], step="post")
    axes.set(xlabel="day", ylabel="requests an hour", xlim=(0, max(days)), ylim=(0, None))
    axes.set_title("Requests", loc="left")
    axes.legend(title="sources that publish", frameon=False, loc="upper right")


def draw_delays(axes, rows):
    for name, label, colour in GROUPS:
        delays = sorted(minutes for _, minutes in rows["delay", name])
        shares = [100 * (rank + 1) / len(delays) for rank in range(len(delays))]
        axes.step(delays, shares, where="post", color=colour, label=label)
    axes.axvline(15, color="black", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xticks([1, 5, 15, 60, 240, 1440], ["1 min", "5", "15", "1 h", "4 h", "1 day"])
    axes.minorticks_off()
    axes.set(xlabel="after publication", ylabel="items discovered, %", xlim=(0.5, 1600), ylim=(0, 101))
    axes.set_title("Discovery delay (line: 15 minutes)", loc="left")


def main():
    table, picture = sys.argv[1:]
    rows = read(table)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    draw_requests(left, rows)
    draw_delays(right, rows)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
