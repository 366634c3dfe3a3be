/** A word as a shell would take it, so that a command can be copied whatever is in the name of a file. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
