"""Random signed requests, a JSON object on each line, by two signers that are independent of the crate.

    sign.py reference|oauthlib COUNT RSA_COUNT SEED

`reference` is written from RFC 5849 alone and spells what it sends in every way that means the same; `oauthlib` is the
library that most Python clients sign with. The first line holds the public key of the RSA-SHA1 requests, which are the
last RSA_COUNT of COUNT. Secrets stand beside each request.
"""

import base64
import hashlib
import hmac
import json
import random
import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
HOSTS = ["example.com", "EXAMPLE.com", "Api.Example.ORG", "localhost", "127.0.0.1", "[::1]", "xn--bcher-kva.example"]
PATHS = ["", "/", "/photos", "/200909/activity/alice/tofrom", "/a/%7Euser", "/a/%7euser", "/%E2%9C%93/x;v=1", "/a%2Fb/c:d@e",
         "/~!$'()*+,=/end/", "/UPPER/lower"]
LETTERS = "abcxyzABCXYZ0189-._~"
AWKWARD = " +%&=;:/?#[]@!$'()*,\"\\<>{}|^`\n\t\0é✓🎉日\u0301\u00a0ÿ"
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Characters that may be literal in a query.
HARMLESS = frozenset(b"!$'()*,/:;?@")

rng = random.Random()
key = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def encode(data):
    return "".join(chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in octets(data))


def octets(data):
    return data if isinstance(data, bytes) else data.encode()


def text(longest, awkward=0.4):
    return "".join(rng.choice(AWKWARD if rng.random() < awkward else LETTERS) for _ in range(rng.randint(0, longest)))


def secret():
    return text(24, awkward=rng.choice([0, 0.3]))


def rsa_signature(base):
    return base64.b64encode(key.sign(base.encode(), padding.PKCS1v15(), hashes.SHA1())).decode()


def hmac_signature(base, algorithm, consumer_secret, token_secret):
    mac = hmac.new(f"{encode(consumer_secret)}&{encode(token_secret)}".encode(), base.encode(), algorithm)
    return base64.b64encode(mac.digest()).decode()


def an_origin():
    """The address as text and as signed."""
    scheme, host = rng.choice(["http", "https"]), rng.choice(HOSTS)
    port = rng.choice(["", "", ":80", ":443", ":8443"])
    signed_port = "" if (scheme, port) in (("http", ":80"), ("https", ":443")) else port
    return f"{scheme}://{host}{port}", f"{scheme}://{host.lower()}{signed_port}"


class Reference:
    """A signer written from the RFC. It varies the spelling of its requests at random."""

    def request(self, signature_method):
        origin, signed_origin = an_origin()
        method, path = rng.choice(METHODS), rng.choice(PATHS)
        location = rng.choice(["header", "query", "form"])
        consumer_secret, token_secret = secret(), secret()
        protocol = self.protocol(signature_method)
        if "oauth_token" not in dict(protocol) and rng.random() < 0.5:
            token_secret = ""
        query, form = self.parameters(), self.parameters()
        late = [("oauth_callback", "http://127.0.0.1:1/?a=1&b=%20"), ("oauth_verifier", text(9) + "v")]
        for pair in rng.sample(late, rng.choice([0, 0, 1, 2])):
            rng.choice([protocol, query, form]).append(pair)

        signed = sorted((encode(name), encode(value)) for name, value in query + form + protocol)
        normalised = "&".join(f"{name}={value}" for name, value in signed)
        base = "&".join(encode(part) for part in (method, signed_origin + (path or "/"), normalised))
        protocol.append(("oauth_signature", self.signature(signature_method, base, consumer_secret, token_secret)))
        {"header": [], "query": query, "form": form}[location].extend(protocol)
        rng.shuffle(query), rng.shuffle(form), rng.shuffle(protocol)
        return {
            "method": rng.choice([method, method.lower()]), "origin": origin, "path": path,
            "query": self.spell_form(query),
            "form": self.spell_form(form) if form or rng.random() < 0.1 else None,
            "authorization": self.spell_header(protocol) if location == "header" else rng.choice([None, None, "Basic YTpi", 'OAuth realm="x"']),
            "consumer_secret": consumer_secret, "token_secret": token_secret, "base_string": base, "location": location, "signature_method": signature_method,
        }

    def signature(self, signature_method, base, consumer_secret, token_secret):
        if signature_method == "PLAINTEXT":
            return f"{encode(consumer_secret)}&{encode(token_secret)}"
        if signature_method == "RSA-SHA1":
            return rsa_signature(base)
        algorithm = {"HMAC-SHA1": hashlib.sha1, "HMAC-SHA256": hashlib.sha256}[signature_method]
        return hmac_signature(base, algorithm, consumer_secret, token_secret)

    def protocol(self, signature_method):
        pairs = [("oauth_consumer_key", "k" + text(12)), ("oauth_signature_method", signature_method)]
        if signature_method != "PLAINTEXT" or rng.random() < 0.5:
            pairs += [("oauth_timestamp", str(rng.randint(1, 2**40))), ("oauth_nonce", "n" + text(12))]
        if rng.random() < 0.8:
            pairs.append(("oauth_token", rng.choice(["", "t" + text(12), "t" + text(12)])))
        if rng.random() < 0.5:
            pairs.append(("oauth_version", "1.0"))
        if rng.random() < 0.2:
            pairs.append(("oauth_" + text(5) + "~", text(8)))
        return pairs

    def parameters(self):
        pairs = [(self.data(5), self.data(12)) for _ in range(rng.choice([0, 0, 1, 2, 3, 8]))]
        if pairs and rng.random() < 0.5:
            again = rng.choice(pairs)
            pairs += [again, (again[0], self.data(12)), (again[0], "")]
        return pairs

    def data(self, longest):
        return rng.randbytes(rng.randint(0, longest)) if rng.random() < 0.1 else text(longest)

    def spell_form(self, pairs):
        spelt = []
        for name, value in pairs:
            name, value = self.spell(name, True), self.spell(value, True)
            # A pair with an empty name and value needs its "=".
            spelt.append(name if name and not value and rng.random() < 0.5 else f"{name}={value}")
        return rng.choice(["&", "&", "&", "&&"]).join(spelt)

    def spell_header(self, pairs):
        parts = [f'{self.spell(name, False)}="{self.spell(value, False)}"' for name, value in pairs]
        realm = rng.choice([None, "", "Example", "a, oauth_nonce=b", '\\"quoted\\", \\\\', "büro"])
        if realm is not None:
            parts.insert(rng.choice([0, 0, 0, rng.randint(0, len(parts))]), f'{rng.choice(["realm", "Realm"])}="{realm}"')
        scheme = rng.choice(["OAuth", "OAuth", "oauth", "OAUTH"])
        return scheme + rng.choice([" ", "  ", "\t"]) + rng.choice([", ", ",", "\t,\t", " ,", ", ,"]).join(parts)

    def spell(self, data, in_form):
        """A random spelling of the text. Protocol names are unchanged, so that the tests find them."""
        if isinstance(data, str) and data in PROTOCOL_NAMES:
            return data
        return "".join(self.spell_octet(byte, in_form) for byte in octets(data))

    def spell_octet(self, byte, in_form):
        if byte in UNRESERVED:
            plain = rng.random() < 0.97
        elif in_form and byte == 0x20:
            return rng.choice(["+", "%20"])
        else:
            plain = in_form and byte in HARMLESS and rng.random() < 0.5
        return chr(byte) if plain else rng.choice([f"%{byte:02X}", f"%{byte:02x}"])


PROTOCOL_NAMES = frozenset([
    "oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce",
    "oauth_version", "oauth_callback", "oauth_verifier"])


class Oauthlib:
    """oauthlib's client. It unescapes protocol parameters twice outside of the header, so they contain no % here."""

    LOCATIONS = {"header": "AUTH_HEADER", "query": "QUERY", "form": "BODY"}
    FORM = "application/x-www-form-urlencoded"

    def __init__(self):
        from oauthlib.oauth1 import Client
        # Its RSA support needs another library, which would only call the same function.
        Client.register_signature_method("RSA-SHA1", lambda base, client: rsa_signature(base))
        self.client = Client

    def request(self, signature_method):
        origin, _ = an_origin()
        location, path = rng.choice(list(self.LOCATIONS)), rng.choice(PATHS)
        method = rng.choice(["POST", "PUT", "PATCH", "DELETE"] if location == "form" else METHODS)
        consumer_secret, token_secret = secret(), secret()
        client = self.client(
            "k" + self.name(12), client_secret=consumer_secret, resource_owner_key="t" + self.name(12),
            resource_owner_secret=token_secret, signature_method=signature_method, signature_type=self.LOCATIONS[location],
            callback_uri=rng.choice([None, "http://127.0.0.1:1/?a=1&b=2"]), verifier=rng.choice([None, "v" + self.name(8)]),
            realm=rng.choice([None, "Example", "a, b"]) if location == "header" else None,
            nonce="n" + self.name(12), timestamp=str(rng.randint(1, 2**40)))
        query, headers, body, form = self.form(), {}, None, False
        if location == "form" or (method not in ("GET", "HEAD") and rng.random() < 0.4):
            headers, body, form = {"Content-Type": self.FORM}, self.form() or "a=b", True
        elif method not in ("GET", "HEAD") and rng.random() < 0.4:
            headers, body = {"Content-Type": "application/json"}, json.dumps({"text": text(20)})
        uri, headers, body = client.sign(origin + path + ("?" + query if query else ""), method, body, headers)
        path, _, query = uri[len(origin):].partition("?")
        return {
            "method": method, "origin": origin, "path": path, "query": query, "form": body if form else None,
            "body": None if form else body, "authorization": headers.get("Authorization"),
            "consumer_secret": consumer_secret, "token_secret": token_secret, "location": location, "signature_method": signature_method,
        }

    def name(self, longest):
        return text(longest).replace("%", "")

    def form(self):
        pairs = [(text(5), text(12)) for _ in range(rng.choice([0, 0, 1, 2, 4]))]
        if pairs and rng.random() < 0.5:
            again = rng.choice(pairs)
            pairs += [again, (again[0], text(12)), (again[0], "")]
        space = rng.choice(["+", "%20"])
        return "&".join(f"{encode(name)}={encode(value)}".replace("%20", space) for name, value in pairs)


def main(signer, count, rsa_count, seed):
    rng.seed(seed)
    signer = {"reference": Reference, "oauthlib": Oauthlib}[signer]()
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    print(json.dumps({"rsa_key": public.hex()}))
    for number in range(count):
        signature_method = "RSA-SHA1" if number >= count - rsa_count else rng.choice(["HMAC-SHA1", "HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"])
        print(json.dumps(signer.request(signature_method)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
