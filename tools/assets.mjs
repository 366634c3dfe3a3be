/** Files that are imported as text (`import text from './x.cedar'`), by the bundle and by the tests alike. */
import { readFile } from 'node:fs/promises';

export const TEXT_ASSETS = ['.cedar', '.cedarschema'];

/** Gives Vite the behaviour of esbuild's `text` loader: the default export is the file's text. */
export function textAssets() {
  return {
    name: 'text-assets',
    enforce: /** @type {const} */ ('pre'),
    async load(/** @type {string} */ id) {
      if (!TEXT_ASSETS.some((extension) => id.endsWith(extension))) return null;
      return { code: `export default ${JSON.stringify(await readFile(id, 'utf8'))};`, map: null };
    },
  };
}
