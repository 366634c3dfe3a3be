/** One named line of a verification. */
export type Check = { readonly name: string; readonly ok: boolean; readonly detail: string };

/** The result of a step: a value, or where and why it is missing. */
export type Found<T> =
  | { readonly ok: true; readonly value: T; readonly detail: string }
  | { readonly ok: false; readonly detail: string };

export function found<T>(value: T, detail: string): Found<T> {
  return { ok: true, value, detail };
}

export function missed(detail: string): { readonly ok: false; readonly detail: string } {
  return { ok: false, detail };
}

/** Records the check and returns its value; null means that it failed. */
export function note<T>(checks: Check[], name: string, result: Found<T>): T | null {
  checks.push({ name, ok: result.ok, detail: result.detail });
  return result.ok ? result.value : null;
}

/** Passes with the first sentence or fails with the second. */
export function judge(holds: boolean, detail: string, failure: string): Found<true> {
  return holds ? found(true, detail) : missed(failure);
}

/** A report is ok when at least one check was made and none failed. */
export function allOk(checks: readonly Check[]): boolean {
  return checks.length > 0 && checks.every((check) => check.ok);
}

/** A short quoted form of a value for a message. */
export function quote(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
