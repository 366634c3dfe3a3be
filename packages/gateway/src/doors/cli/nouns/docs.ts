import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nearest } from '../../../core/suggest.ts';
import { DOCS_PATH, findSite, readTable } from '../../http/site.ts';
import { findDaemon } from '../find-daemon.ts';
import { wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

const PAGE = '.html';

/** Prints where the documentation is read: at the daemon, or from the disk, where a browser shows the same pages. */
export async function docs(invocation: Invocation): Promise<number> {
  const { print, args } = invocation;
  const table = findSite();
  if (table === null)
    throw wrongUsage(
      'Cannot find the documentation: this installation has none',
      'In a clone of palisade, run `npm run build`.',
    );
  const topics = Object.keys(readTable(table))
    .filter((name) => name.endsWith(PAGE))
    .map((name) => name.slice(0, -PAGE.length));
  const page = `${topicOf(args[0], topics)}${PAGE}`;
  const daemon = await findDaemon(invocation);
  const address =
    daemon === null
      ? pathToFileURL(join(dirname(table), page)).href
      : `${daemon.facts.url}${DOCS_PATH}/${page}`;
  return print.result({ address, topics }, () => {
    print.line(address);
    if (args[0] !== undefined) return;
    const shown = topics.filter((topic) => !topic.includes('/') && !['index', 'search'].includes(topic));
    print.next(`palisade docs TOPIC   (${shown.join(', ')})`);
  });
}

function topicOf(named: string | undefined, topics: readonly string[]): string {
  if (named === undefined) return 'index';
  const topic = named.replace(/\.(html|md)$/, '');
  if (topics.includes(topic)) return topic;
  const close = nearest(topic, topics);
  const hint = close === null ? '' : `; did you mean "${close}"?`;
  throw wrongUsage(
    `Cannot find the page "${named}": no such topic${hint}`,
    'List the topics with `palisade docs`.',
  );
}
