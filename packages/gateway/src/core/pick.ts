/** These members of a value, in this order; those that are undefined are left out. */
export function pick<T extends object, K extends keyof T>(value: T, members: readonly K[]): Pick<T, K> {
  const present = members.filter((member) => value[member] !== undefined);
  return Object.fromEntries(present.map((member) => [member, value[member]])) as Pick<T, K>;
}
