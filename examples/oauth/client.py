"""Reads the newest activities of an account that authorises it, with OAuth 1.0a, out of band.

    pip install requests-oauthlib
    BASE=https://127.0.0.1:8443 CONSUMER=tfc_… CONSUMER_SECRET=… REQUESTS_CA_BUNDLE=ca.pem python client.py
"""

import os

from requests_oauthlib import OAuth1Session

base = os.environ["BASE"]
session = OAuth1Session(os.environ["CONSUMER"], os.environ["CONSUMER_SECRET"], callback_uri="oob")
session.headers["Accept"] = "application/json"

# 1. The application requests temporary credentials.
session.fetch_request_token(f"{base}/oauth/request_token")

# 2. The person decides in a browser and enters the code here.
print("Open this address, sign in and allow it:")
print(session.authorization_url(f"{base}/oauth/authorize"))
verifier = input("The code that is shown: ")

# 3. The application exchanges both for an access token. Store its two parts for later runs.
session.fetch_access_token(f"{base}/oauth/access_token", verifier=verifier)

# From now on every request is signed with the access token.
account = session.get(f"{base}/200909/whoami").json()["WhoAmI"]["Account"]
parameters = {"count": 3, "publishedsince": "2009-09-01T00:00:00+02:00"}
response = session.get(f"{base}/200909/activity/{account}/tofrom", params=parameters)
response.raise_for_status()
for activity in response.json()["Activities"]["Activity"]:
    print(activity["Title"])
