/** Flags that verbs of several tables have. */

export const AS = {
  name: 'as',
  value: 'PRINCIPAL',
  sentence: 'Who asks: agent:NAME, user:NAME or service:NAME (default: user:YOU).',
};
