/** Whether a normal absolute path is the given directory or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** The directories above a normal path, outermost first, without the root: "/a/b/c" has "/a" and "/a/b". */
export function ancestorsOf(path: string): readonly string[] {
  const parts = path.split('/');
  const start = path.startsWith('/') ? 2 : 1;
  return parts.slice(start).map((_, index) => parts.slice(0, start + index).join('/'));
}
