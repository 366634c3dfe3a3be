/** The value, or the fallback where it cannot be had: for looks at what may be absent, gone or unreadable. */
export function orElse<Value, Fallback>(look: () => Value, fallback: Fallback): Value | Fallback {
  try {
    return look();
  } catch {
    return fallback;
  }
}
