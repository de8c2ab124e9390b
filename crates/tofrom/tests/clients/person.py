"""The person's part of a flow: opens the authorize page, signs in and decides, through plain HTML forms."""

from html.parser import HTMLParser
from urllib.parse import urljoin

import requests


class Page(HTMLParser):
    """The forms of a page, each with its fields and buttons, and the text of the element with id `verifier`."""

    def __init__(self, response):
        super().__init__()
        self.address, self.forms, self.verifier, self.in_verifier = response.url, [], "", False
        self.feed(response.text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form":
            self.forms.append({"action": urljoin(self.address, attributes["action"]), "hidden": {}, "names": set()})
        elif tag in ("input", "button") and self.forms:
            self.forms[-1]["names"].add(attributes.get("name"))
            if attributes.get("type") == "hidden":
                self.forms[-1]["hidden"][attributes["name"]] = attributes["value"]
        self.in_verifier = attributes.get("id") == "verifier"

    def handle_data(self, data):
        if self.in_verifier:
            self.verifier += data

    def handle_endtag(self, tag):
        self.in_verifier = False

    def form(self, name):
        return next((form for form in self.forms if name in form["names"]), None)


class Person:
    def __init__(self, params):
        self.params, self.browser = params, requests.Session()

    def decide(self, address, decision="allow"):
        """The redirect target, and the displayed verifier; one of them is empty."""
        page = Page(self.open(address))
        if form := page.form("password"):
            fields = {"username": self.params["account"], "password": self.params["password"]}
            page = Page(self.send(form, fields, follow=True))
        answer = self.send(page.form("decision"), {"decision": decision}, follow=False)
        return answer.headers.get("Location", ""), Page(answer).verifier

    def open(self, address):
        answer = self.browser.get(address)
        assert answer.status_code == 200, answer.text
        return answer

    def send(self, form, fields, follow):
        answer = self.browser.post(form["action"], data=form["hidden"] | fields, allow_redirects=follow)
        assert answer.status_code in (200, 303), answer.text
        return answer
