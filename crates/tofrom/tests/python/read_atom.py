"""Reads Atom files with feedparser and prints the fields of each as JSON: our feeds as a feed reader sees them."""

import json
import sys

import feedparser


def links(found):
    return [{"rel": link.get("rel"), "href": link.get("href"), "type": link.get("type")} for link in found.get("links", [])]


def entry(found):
    author = found.get("author_detail", {})
    return {
        "id": found.get("id"),
        "title": found.get("title"),
        "title_type": found.get("title_detail", {}).get("type"),
        "updated": found.get("updated"),
        "updated_parsed": found.get("updated_parsed") is not None,
        "published": found.get("published"),
        "published_parsed": found.get("published_parsed") is not None,
        "links": links(found),
        "author": {"name": author.get("name"), "href": author.get("href")},
        "categories": [{"term": tag.term, "scheme": tag.scheme, "label": tag.label} for tag in found.get("tags", [])],
        "summary": found.get("summary"),
        "summary_type": found.get("summary_detail", {}).get("type"),
    }


def read(path):
    found = feedparser.parse(path)
    feed = found.feed
    return {
        "bozo": bool(found.bozo),
        "why": str(found.get("bozo_exception", "")),
        "version": found.version,
        "id": feed.get("id"),
        "title": feed.get("title"),
        "updated": feed.get("updated"),
        "links": links(feed),
        "entries": [entry(one) for one in found.entries],
    }


json.dump([read(path) for path in sys.argv[1:]], sys.stdout)
