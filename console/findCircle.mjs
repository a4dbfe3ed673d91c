/** Find a circle among imports: files of which each imports the next; undefined if there is none. */
export function findCircle(imports) {
  const finished = new Set();
  const way = [];

  function follow(file) {
    if (finished.has(file)) return undefined;
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    way.push(file);
    for (const imported of imports.get(file) ?? []) {
      const circle = follow(imported);
      if (circle) return circle;
    }
    way.pop();
    finished.add(file);
    return undefined;
  }

  for (const file of imports.keys()) {
    const circle = follow(file);
    if (circle) return circle;
  }
  return undefined;
}
