"""Plots the cost of the rules for very-followed and dormant accounts: plot_scale.py TABLE PICTURE."""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ACCOUNTS = 1e8
# Statements of a page without pulled actors.
PAGE = 27
DEFAULT = 10_000
PUSHED, IDLE, PULLED = "#1f5fa8", "#2e8b57", "#d9822b"
SIZES = [(1e6, "10⁶ accounts", "#6f9fd8"), (1e8, "10⁸", "#1f5fa8"), (1e9, "10⁹", "#12355f")]


def read(table):
    """Rows by number of accounts and whether dormancy is on, one for each threshold."""
    cases = {}
    with open(table, newline="") as lines:
        for row in csv.DictReader(lines):
            key = float(row["accounts"]), row["idle"] == "1"
            cases.setdefault(key, []).append({name: float(value) for name, value in row.items()})
    return cases


def column(case, name):
    return [row[name] for row in case[:-1]]


def draw_rows(axes, cases):
    total = cases[ACCOUNTS, False][-1]["rows"]
    for idle, label, colour, position in [
        (False, "all accounts\nare pushed to", PUSHED, (1.5e4, 72)),
        (True, "dormant accounts\nare skipped", IDLE, (1.5e4, 18)),
    ]:
        case = cases[ACCOUNTS, idle]
        shares = [100 * rows / total for rows in column(case, "rows")]
        axes.plot(column(case, "above"), shares, color=colour)
        axes.annotate(label, position, color=colour)
    axes.set(ylabel="of all rows, %", ylim=(0, 104))
    axes.set_title("Rows written", loc="left")


def draw_pages(axes, cases):
    case = cases[ACCOUNTS, False]
    thresholds = column(case, "above")
    partitions = [PAGE + more for more in column(case, "partitions")]
    axes.fill_between(thresholds, PAGE, partitions, color=PULLED, alpha=0.3, linewidth=0)
    axes.plot(thresholds, partitions, color=PULLED)
    axes.axhline(PAGE, color="#8a8f98", linewidth=1)
    axes.annotate("pulled", (1.5e4, 75), color=PULLED)
    axes.annotate("page", (150, PAGE - 12), color="#5c6068")
    axes.set(ylabel="partitions read for a page of 20", ylim=(0, None))
    axes.set_title("Partitions read", loc="left")


def draw_bursts(axes, cases):
    for accounts, label, colour in SIZES:
        case = cases[accounts, False]
        seconds = column(case, "lag")
        axes.plot(column(case, "above"), seconds, color=colour)
        axes.annotate(label, (1e8, seconds[-1]), color=colour, ha="right", va="bottom")
    axes.set_yscale("log")
    axes.set_yticks([0.01, 0.1, 1, 10, 60, 600, 3600], ["10 ms", "0.1 s", "1 s", "10 s", "1 min", "10 min", "1 h"])
    axes.minorticks_off()
    axes.set(ylim=(0.002, 8000))
    axes.set_title("Delay of the last follower", loc="left")


def main():
    table, picture = sys.argv[1:]
    cases = read(table)
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
    for axes, draw in zip(panels, (draw_rows, draw_pages, draw_bursts)):
        draw(axes, cases)
        axes.axvline(DEFAULT, color="black", linewidth=0.8, linestyle=":")
        axes.annotate(" default", (DEFAULT, 1), xycoords=("data", "axes fraction"), va="top", fontsize=9)
        axes.set_xscale("log")
        axes.set_xticks([1e2, 1e4, 1e6, 1e8], ["100", "10,000", "10⁶", "10⁸"])
        axes.set(xlabel="pull threshold (followers)", xlim=(1e2, 1e8))
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
