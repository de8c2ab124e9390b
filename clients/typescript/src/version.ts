/** The version of the server that the client belongs to. A test compares them. */
export const VERSION = "0.1.0-rc.1";
