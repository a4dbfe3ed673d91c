export function findCircle(imports: ReadonlyMap<string, readonly string[]>): string[] | undefined;
