/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = 'e914d20160a34613164eb84de2809bfa0a208b234d036f8ee1b3ad0d46ae5456';
