/* What pages can do with JavaScript and cannot without: copy commands, and reach the search by "/". */

const input = document.querySelector('input[type="search"]');

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input?.focus();
});

// A page that was not served by HTTPS or from this machine may not write to the clipboard.
if (navigator.clipboard !== undefined)
  for (const block of document.querySelectorAll('pre.terminal')) addCopy(block);

// What scrolls can be scrolled with the keyboard, in every browser.
for (const box of document.querySelectorAll('pre, .table')) {
  if (box.scrollWidth <= box.clientWidth) continue;
  box.tabIndex = 0;
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', box.matches('pre') ? 'Code' : 'Table');
}

// Where the style cannot keep the lists open on a wide screen, they begin open.
if (!CSS.supports('selector(::details-content)') && matchMedia('(min-width: 60rem)').matches)
  for (const list of document.querySelectorAll('.pages details, .toc details')) list.open = true;

// A list that scrolls begins where the page is.
const here = document.querySelector('.pages [aria-current]');
const list = document.querySelector('.pages');
if (here !== null && here.offsetTop > list.clientHeight)
  list.scrollTop = here.offsetTop - list.clientHeight / 2;

// An operation that a link leads to is opened.
addEventListener('hashchange', openTarget);
openTarget();

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.matches('article details') !== true) return;
  target.open = true;
  target.scrollIntoView();
}

function addCopy(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', () => copy(block, button));
  const frame = document.createElement('div');
  frame.className = 'block';
  block.replaceWith(frame);
  frame.append(block, button);
}

async function copy(block, button) {
  const commands = [...block.querySelectorAll('.command')].map((command) => command.textContent.trimEnd());
  await navigator.clipboard.writeText(`${commands.join('\n')}\n`);
  button.textContent = 'Copied';
  button.classList.add('done');
  setTimeout(() => {
    button.textContent = 'Copy';
    button.classList.remove('done');
  }, 1500);
}
