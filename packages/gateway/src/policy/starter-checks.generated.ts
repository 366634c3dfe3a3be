/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '2d178416d145dd43de1fa7e9bd5f76e04835340496d6825e9580d674cd24b182';
