/** Watches which fields of a structure are read, so that those nobody knows can be told. */
export class TrackedReads {
  private readonly watched: { path: string; target: object; read: Set<string> }[] = [];
  private readonly proxies = new WeakMap<object, object>();

  watch<T>(value: T, path = ''): T {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.proxies.get(value);
    if (known) return known as T;
    const read = new Set<string>();
    const proxy = new Proxy(value, {
      get: (target, key) => {
        const found = Reflect.get(target, key) as unknown;
        if (typeof key === 'string') read.add(key);
        // Methods of arrays work on the proxy itself and come back here for each element.
        return typeof found === 'function' ? found : this.watch(found, `${path}/${String(key)}`);
      },
    });
    this.watched.push({ path, target: value, read });
    this.proxies.set(value, proxy);
    return proxy;
  }

  /** Paths of the fields that nobody has read, below those that somebody has. */
  unread(): string[] {
    return this.watched.flatMap(({ path, target, read }) =>
      Object.keys(target)
        .filter((key) => !read.has(key))
        .map((key) => `${path}/${key}`),
    );
  }
}
