/** Names label by label, the last label first, with what belongs to the names below each. */
export type NameTree<T> = { below: T | null; readonly labels: Map<string, NameTree<T>> };

const DOT = 0x2e;

export function plantNames<T>(names: ReadonlyMap<string, T>): NameTree<T> {
  const root: NameTree<T> = { below: null, labels: new Map() };
  for (const [name, below] of names) {
    let tree = root;
    for (const label of name.split('.').toReversed()) tree = grow(tree, label);
    tree.below = below;
  }
  return root;
}

function grow<T>({ labels }: NameTree<T>, label: string): NameTree<T> {
  const known = labels.get(label);
  if (known !== undefined) return known;
  const tree = { below: null, labels: new Map() };
  labels.set(label, tree);
  return tree;
}

/** What belongs to the names that a name is below, the longest one first; the name itself is not among them. */
export function allAbove<T>(root: NameTree<T>, name: string): T[] {
  const found: T[] = [];
  let tree: NameTree<T> | undefined = root;
  let end = name.length;
  // Boundary: whole labels are compared, so "evilexample.com" is never below "example.com".
  for (let start = startOfLabel(name, end); start > 0; start = startOfLabel(name, end)) {
    tree = tree.labels.get(name.slice(start, end));
    if (tree === undefined) break;
    if (tree.below !== null) found.push(tree.below);
    end = start - 1;
  }
  return found.reverse();
}

/** Where the label that ends here begins. */
function startOfLabel(name: string, end: number): number {
  let start = end;
  while (start > 0 && name.charCodeAt(start - 1) !== DOT) start -= 1;
  return start;
}
