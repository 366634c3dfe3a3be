/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '8a0385734505ba8e07e83bd89a203eefd1e478162aaa0ff06aa2ca11caf48bae';
