import { expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/invoke/migrations.ts';
import { digestOf } from '../../src/store/migrate.ts';

/* A migration that state directories have is never edited: a change is a new one behind it. */

test('the migrations of released versions are as they were released', () => {
  expect(
    Object.fromEntries(MIGRATIONS.map((each) => [each.id, digestOf(each).slice(0, 16)])),
  ).toMatchInlineSnapshot(`
    {
      "approval/001": "bc167f9a1f53e86e",
      "approval/002": "b0a8340b21c950bb",
      "approval/003": "b7d09352806251d3",
      "approval/004": "056f5395e75157dd",
      "budget/001": "b5eb1c48b1062236",
      "budget/002": "2166c24406982af2",
      "identity/001": "6ddf087bf7416824",
      "identity/002": "bf7be5ef448f4542",
      "journal/001": "be523943c2d787cf",
      "journal/002": "1b0142aab1d23553",
      "oci/001": "f310a3a9f8198839",
      "packages/001": "f3f164e5a6c07c2d",
      "policy/001": "436589ef454d47e4",
      "policy/002": "8e948effe7313e3a",
      "policy/003": "5228f6daf2e9aa6e",
      "recordings/001": "0e552b6b10aa275c",
      "recordings/002": "379be03b736cfa9a",
      "results/001": "68970bcc6db56930",
      "results/002": "d5698af6de80a959",
      "results/003": "349e26f80026a64f",
      "sessions/001": "ab225c8e6b5cffa4",
      "skills/001": "f65ddf5a33632a37",
      "skills/002": "a12edebc0e96697c",
      "storage/001": "ffc2aab994de4e7c",
      "upstreams/001": "786590e059129d7b",
      "vault/001": "9bf2331f6506bfc0",
    }
  `);
});

test('the migrations of a module are in the order of their ids, each of which is there once', () => {
  const ids = MIGRATIONS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const module of new Set(ids.map((id) => id.split('/')[0]))) {
    const own = ids.filter((id) => id.startsWith(`${module}/`));
    expect(own).toEqual(own.map((_, i) => `${module}/${String(i + 1).padStart(3, '0')}`));
  }
});
