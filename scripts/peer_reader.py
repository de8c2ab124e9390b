"""Reads activities with a library that others use for feeds, on request. Started by scripts/measure-peers.

    peer_reader.py django-activity-stream FOLDER_OF_POSTGRESQL | stream-framework PORT_OF_REDIS

Fills the database, prints a line, and then performs the reads that standard input asks for: a name and a number of
times in a line. It answers each with a line of JSON: the number of items in a page.
"""

import datetime
import json
import sys

FOLLOWEES, EACH, TYPES = 100, 1_000, 10
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
READER = 1_000_000


def activities():
    """Number, actor, type and time of every activity, oldest first."""
    for number in range(FOLLOWEES * EACH):
        yield number, number % FOLLOWEES, number // FOLLOWEES % TYPES, START + datetime.timedelta(seconds=number)


def django_activity_stream(folder):
    """Reads of a QuerySet: the followed accounts are joined when a page is read."""
    import django
    from django.conf import settings

    settings.configure(
        SECRET_KEY="measured",
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "actstream"],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": "postgres",
                "USER": "postgres",
                "HOST": folder,
                "CONN_MAX_AGE": None,
            }
        },
    )
    django.setup()
    from actstream import models, registry
    from actstream.actions import follow
    from django.contrib.auth.models import User
    from django.contrib.contenttypes.models import ContentType
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    registry.register(User)
    actors = User.objects.bulk_create([User(username=f"person{n}") for n in range(FOLLOWEES)])
    reader = User.objects.create(username="reader")
    kind = ContentType.objects.get_for_model(User)
    for actor in actors:
        follow(reader, actor, send_action=False)
    actions = (
        models.Action(
            actor_content_type=kind,
            actor_object_id=str(actors[actor].pk),
            verb=f"verb{verb}",
            description=f"Activity {number}",
            timestamp=at,
        )
        for number, actor, verb, at in activities()
    )
    models.Action.objects.bulk_create(actions, batch_size=5_000)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")

    def page(stream):
        fields = [(a.pk, a.actor.username, a.verb, a.description, a.timestamp.isoformat()) for a in stream]
        return json.dumps(fields), len(fields)

    stream = models.user_stream
    return {
        "newest": lambda: page(stream(reader)[:20]),
        "filtered": lambda: page(stream(reader).filter(verb="verb3")[:20]),
        "second": lambda: page(stream(reader)[20:40]),
    }


def stream_framework(port):
    """Reads of a sorted set: activities are written to the reader's feed beforehand."""
    # With Django it would take its settings from there.
    sys.modules["django"] = None
    from stream_framework import settings

    settings.STREAM_REDIS_CONFIG["default"].update(host="127.0.0.1", port=int(port))
    from stream_framework.activity import Activity
    from stream_framework.feeds.redis import RedisFeed
    from stream_framework.verbs import register
    from stream_framework.verbs.base import Verb

    verbs = [type(f"Verb{n}", (Verb,), {"id": 100 + n, "infinitive": f"verb{n}"}) for n in range(TYPES)]
    for verb in verbs:
        register(verb)

    class Feed(RedisFeed):
        key_format = "feed:%(user_id)s"
        max_length = FOLLOWEES * EACH

    feed, many = Feed(READER), []
    for number, actor, verb, at in activities():
        text = {"text": f"Activity {number}"}
        many.append(Activity(actor, verbs[verb], number, time=at.replace(tzinfo=None), extra_context=text))
        if len(many) == 2_000:
            Feed.insert_activities(many)
            feed.add_many(many, trim=False)
            many = []

    def page(part):
        fields = [(a.serialization_id, a.actor_id, a.verb.infinitive, a.extra_context, a.time.isoformat()) for a in part]
        return json.dumps(fields), len(fields)

    # A feed cannot be filtered by type.
    return {"newest": lambda: page(feed[:20]), "second": lambda: page(feed[20:40])}


def main():
    name, place = sys.argv[1:]
    reads = {"django-activity-stream": django_activity_stream, "stream-framework": stream_framework}[name](place)
    print(json.dumps(sorted(reads)), flush=True)
    for line in sys.stdin:
        read, times = line.split()
        items = {reads[read]()[1] for _ in range(int(times))}
        print(json.dumps(sorted(items)), flush=True)


if __name__ == "__main__":
    main()
