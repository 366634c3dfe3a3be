/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = '7b3be27fbba23a1a62196eb10efb5b75a017f52feac6796276164012e7cdfe52';
