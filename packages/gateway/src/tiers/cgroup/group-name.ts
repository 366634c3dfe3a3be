import { digestBytes } from '../../core/digest.ts';

/*
 * Names of groups: PREFIX-OWNER-ID. The owner is a house and a process of it: gateways with different state directories
 * do not know of each other's lives, so each recognises only the groups of its own house.
 */

/** Who makes groups. */
export type Owner = {
  /** Tells this state directory from every other one on the machine; only its digest is in the names. */
  readonly house: string;
  /** The process, as the presence of the store names it. */
  readonly process: string;
};

const HOUSE_CHARS = 12;
const PREFIX = /^[a-z]{1,32}$/;
const PROCESS = /^[a-zA-Z0-9_]{1,64}$/;
const ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** Makes and recognises the names of one owner's house. */
export type GroupNames = {
  readonly nameOf: (id: string) => string;
  /** The process that made a group of this house; null for every other name. */
  readonly processOf: (name: string) => string | null;
};

/** Checks the parts that all names share. */
export function groupNames(prefix: string, owner: Owner): GroupNames {
  check('prefix', prefix, PREFIX);
  check('owner', owner.process, PROCESS);
  const house = digestBytes(owner.house).slice(0, HOUSE_CHARS);
  const start = `${prefix}-${house}_`;
  return {
    nameOf: (id) => {
      // Boundary: a name is a part of a path; a slash or a dot in it would lead out of the tree.
      check('id', id, ID);
      return `${start}${owner.process}-${id}`;
    },
    processOf: (name) => {
      // Boundary: only what this house can have made is ever killed or removed.
      if (!name.startsWith(start)) return null;
      const rest = name.slice(start.length);
      const dash = rest.indexOf('-');
      const process = rest.slice(0, Math.max(dash, 0));
      return PROCESS.test(process) && ID.test(rest.slice(dash + 1)) ? process : null;
    },
  };
}

function check(what: string, text: string, pattern: RegExp): void {
  if (pattern.test(text)) return;
  throw new TypeError(
    `Cannot name a control group: its ${what} is ${JSON.stringify(text)}, expected ${pattern.source}`,
  );
}
