/** How much an upstream server may say of its tools. */
export const DEFINITION_LIMITS = {
  tools: 512,
  pages: 64,
  titleChars: 256,
  descriptionChars: 16_384,
  definitionBytes: 65_536,
  /** Of all pages of a list together. */
  listBytes: 4 * 1024 * 1024,
} as const;

/** How much it may list beside them. Of resources the first so many are shown; they can be more than anybody reads. */
export const LISTED_LIMITS = { prompts: 512, templates: 512, arguments: 64, resources: 1_000 } as const;
