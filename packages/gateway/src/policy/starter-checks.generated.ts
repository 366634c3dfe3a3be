/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * `npm run fix`.
 */
export const STARTER_CHECK = 'fc5a83de49543ddbdab8507f357fde65d67b9e846c0bf0c6403e45bb299dbece';
