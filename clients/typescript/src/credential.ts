/** Credentials, one of which every request carries. */

/**
 * A key (`tfk_…`), or a function that fetches one, for example a short-lived one from your back end. The function is
 * called before the first request, and again when the server no longer accepts the key.
 */
export interface Key {
  readonly key: string | (() => string | Promise<string>);
}

/** The name and the password of an account. */
export interface Password {
  readonly user: string;
  readonly password: string;
}

/** Makes the header `Authorization` of a request, such as a signature: see `tofrom/oauth`. */
export interface Signature {
  authorize(method: string, url: string): string | Promise<string>;
}

export type Credential = Key | Password | Signature;

/** Adds the credential to requests. */
export class Authorization {
  #credential: Credential;
  #key: Promise<string> | undefined;

  constructor(credential: Credential) {
    this.#credential = credential;
  }

  /** The headers for a request to this address. */
  async headers(method: string, url: string): Promise<Record<string, string>> {
    const credential = this.#credential;
    if ("authorize" in credential) return { Authorization: await credential.authorize(method, url) };
    if ("password" in credential) return { Authorization: `Basic ${base64(`${credential.user}:${credential.password}`)}` };
    if (typeof credential.key === "string") return { ServicePSK: credential.key };
    const fetchKey = credential.key;
    // Requests that start together share one key. A failure is not kept.
    this.#key ??= Promise.resolve(fetchKey()).catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return { ServicePSK: await this.#key };
  }

  /** Forgets the key that the server refused. Returns whether another one can be fetched. */
  async refused(headers: Readonly<Record<string, string>>): Promise<boolean> {
    if (!this.#key) return false;
    // Another request may have fetched the next one already.
    if ((await this.#key) === headers["ServicePSK"]) this.#key = undefined;
    return true;
  }
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
