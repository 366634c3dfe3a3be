/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '23086b9c0c44080c71264f611222f50cf3236c3c4e1f70941bd8fbc76f91e149';
