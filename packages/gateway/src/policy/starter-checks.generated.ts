/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '984f029672cf9e998e211fc21c4fd4d37f03146d06ce862afff27eb702d10439';
