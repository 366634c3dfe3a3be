import { join } from 'node:path';
import { expect, test } from 'vitest';
import { textAssets } from '../assets.mjs';
import { plant } from './plant.ts';

test('textAssets() gives the text of a policy file as the default export', async () => {
  const text = 'permit(principal, action, resource); // "ünï"\n';
  const root = plant({ 'a.cedar': text });
  expect(await textAssets().load(join(root, 'a.cedar'))).toMatchObject({
    code: `export default ${JSON.stringify(text)};`,
  });
  expect(await textAssets().load(join(root, 'a.ts'))).toBeNull();
});
