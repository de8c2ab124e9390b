/** OAuth 1.0a for Node.js: signs requests with the package `oauth-1.0a`. Secrets do not belong into a browser. */

import { createHmac } from "node:crypto";
import OAuth from "oauth-1.0a";
import type { Signature } from "./credential.js";

/** A key or token, and its secret. */
export interface KeyAndSecret {
  readonly key: string;
  readonly secret: string;
}

/**
 * A credential that signs each request with HMAC-SHA256, for an application that acts for an account.
 *
 * The token comes from the steps that docs/oauth.md of the server shows. Every attempt gets a new nonce. The signature
 * covers the method, the address and the query; TLS protects the body.
 */
export function oauth1(consumer: KeyAndSecret, token: KeyAndSecret): Signature {
  const signer = new OAuth({
    consumer,
    signature_method: "HMAC-SHA256",
    hash_function: (base, key) => createHmac("sha256", key).update(base).digest("base64"),
  });
  return { authorize: (method, url) => signer.toHeader(signer.authorize({ method, url }, token)).Authorization };
}
