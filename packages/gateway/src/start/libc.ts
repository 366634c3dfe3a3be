import { closeSync, openSync, readSync } from 'node:fs';

/*
 * libsql asks for the report of the process to learn which C library it runs with. To write one takes Node longer than to
 * open the database; so while libsql is loaded, the report has that answer alone.
 */

/** Loads what asks for the C library of this process. Where that is unknown, it gets the whole report. */
export function withLibcReport<T>(load: () => T): T {
  const header = process.platform === 'linux' ? headerOf(loaderOf(process.execPath)) : null;
  const { report } = process;
  if (header === null || report === undefined) return load();
  const { getReport } = report;
  report.getReport = () => ({ header, sharedObjects: [] });
  try {
    return load();
  } finally {
    report.getReport = getReport;
  }
}

/** Only that the version is there is read. */
function headerOf(loader: string): object | null {
  if (loader.includes('/ld-musl-')) return {};
  return loader.includes('/ld-linux') ? { glibcVersionRuntime: 'unknown' } : null;
}

/** The beginning of a program, which names the loader of its C library. */
function loaderOf(program: string): string {
  try {
    const fd = openSync(program, 'r');
    try {
      const start = Buffer.alloc(4_096);
      return start.toString('latin1', 0, readSync(fd, start, 0, start.length, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return '';
  }
}
