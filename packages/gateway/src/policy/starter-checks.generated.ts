/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '49e46a6e6960369136de54686ba9ea9b3a4e17a2afde6b5a9fcc2b5447269130';
