/** Why a running call is ended: what it runs with may no longer be used. The reason of the signal that ends it. */
export class Withdrawn extends Error {
  override readonly name = 'Withdrawn';
}
