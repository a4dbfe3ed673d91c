// The policy of the page allows no style elements with content. What a library writes into one is
// adopted as a style sheet instead, where the element stands, for as long as it stands there.

const sheets = new WeakMap();

function adopt(element, text) {
  let sheet = sheets.get(element);
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheets.set(element, sheet);
    queueMicrotask(() => place(element, sheet));
  }
  sheet.replaceSync(text);
}

/** Adopts the sheet in the document or the shadow tree of its element, and drops it with it. */
function place(element, sheet) {
  const root = element.getRootNode();
  if (!("adoptedStyleSheets" in root)) return;
  root.adoptedStyleSheets.push(sheet);
  const watching = new MutationObserver(() => {
    if (element.isConnected) return;
    watching.disconnect();
    sheets.delete(element);
    root.adoptedStyleSheets = root.adoptedStyleSheets.filter((one) => one !== sheet);
  });
  watching.observe(element.parentNode ?? root, { childList: true });
}

const textContent = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");

Object.defineProperty(HTMLStyleElement.prototype, "textContent", {
  configurable: true,
  get: textContent.get,
  set(text) {
    adopt(this, text);
  },
});

HTMLStyleElement.prototype.appendChild = function appendChild(node) {
  adopt(this, node.textContent);
  return node;
};
