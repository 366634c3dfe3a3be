/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '3e482529b79f87e3753c42c2b33f7661986ff5acce8b8ecdf33e5ad39f561d90';
