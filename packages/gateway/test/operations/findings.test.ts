import { expect, test } from 'vitest';
import { installationFindings } from '../../src/operations/findings.ts';

const FILE = '/home/ada/site/node_modules/palisade/dist/chunk.js';

test('installationFindings() warns of an installation that the commands of a workspace can change', () => {
  expect(installationFindings(FILE, ['/srv/other', '/home/ada/site'])).toEqual([
    {
      name: 'installation',
      state: 'warning',
      detail:
        '/home/ada/site/node_modules/palisade lies in the workspace /home/ada/site: commands can change it, and with it palisade itself',
      remedy: 'Install palisade outside of workspaces: `npm install -g palisade`.',
    },
  ]);
});

test.each([
  ['elsewhere', FILE, ['/srv/other', '/home/ada/site2']],
  ['a clone', '/home/ada/palisade/packages/gateway/dist/chunk.js', ['/home/ada/palisade']],
  ['a global one', '/usr/local/lib/node_modules/palisade/dist/chunk.js', ['/home/ada/site']],
])('installationFindings() says nothing of %s', (_, file, roots) => {
  expect(installationFindings(file, roots)).toEqual([]);
});
