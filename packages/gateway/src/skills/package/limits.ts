/** What no package is larger than, for writer and reader. Nothing is compressed, so there is no ratio to limit. */
export const PACKAGE_LIMITS = {
  packageBytes: 64 * 1024 * 1024,
  entries: 512,
  entryBytes: 32 * 1024 * 1024,
  /** Shorter than what any file system takes, with room for the folder that it is unpacked into. */
  pathChars: 128,
  pathDepth: 8,
} as const;
