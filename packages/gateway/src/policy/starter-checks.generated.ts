/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = 'ff5c2435fcfe358a2cacd3ea560deb628dde3c3f9ba89b9d4900c0fbdaf3c878';
