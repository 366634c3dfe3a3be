const ESCAPES = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

/** Boundary: whatever a text contains is text on the page. */
export function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (char) => `&${ESCAPES[char]};`);
}
