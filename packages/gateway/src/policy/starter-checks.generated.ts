/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '13a503a34347411f0c3cab8107c8dc86f30855d9bf5b89f457e4320afd0f5fd8';
