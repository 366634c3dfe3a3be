/** The code of an error of a connection. The message is left out: it could repeat what the other side sent. */
export function codeOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  return /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'failed';
}
