/** The limits of everything that a registry is asked for and answers. No caller changes them. */
export const OCI_LIMITS = {
  /** Of a reference as it is typed; the specification allows 255 characters of host and name together. */
  referenceChars: 512,
  nameChars: 255,
  /** Of a manifest: that of a skill has about 1,500 bytes. */
  manifestBytes: 256 * 1024,
  manifestDepth: 16,
  /** Of one annotation that is shown. */
  annotationChars: 300,
  /** Of an answer that only tells what went wrong, and of one with a token. */
  noteBytes: 64 * 1024,
  tokenChars: 8_192,
  challengeChars: 4_096,
  challenges: 8,
  /** Of a log-in, as USER:PASSWORD. */
  loginChars: 4_096,
  /** Of one page of a list. */
  pageBytes: 1024 * 1024,
  pageEntries: 100,
  pages: 20,
  repositories: 200,
  /** Of one repository that are read and shown. */
  tags: 50,
  redirects: 5,
  /** What is sent at once where a registry does not take the whole package in one request. */
  chunkBytes: 4 * 1024 * 1024,
  /** How long a registry may ask to wait, and how often; more is an error that says so. */
  waitMs: 15_000,
  waits: 5,
  lookupMs: 10_000,
  /** For one request, and for one that moves a package. */
  requestMs: 60_000,
  transferMs: 30 * 60_000,
} as const;
