// The API of the host that has served the page. Each request is signed with the user's key.
import { query, sign } from './sign.js'

// Refused is an answer that is an error. kind is its type, such as AccessDeniedException; groups are those of which a person has to choose one.
export class Refused extends Error {
  constructor(status, kind, message, groups) {
    super(message)
    Object.assign(this, { status, kind, groups })
  }
}

// Unreachable is a host that does not answer.
export class Unreachable extends Error {}

// sleep waits, until a signal ends it.
export const sleep = (ms, signal) => new Promise(resolve => {
  const over = () => { clearTimeout(timer); signal.removeEventListener('abort', over); resolve() }
  const timer = setTimeout(over, ms)
  signal.addEventListener('abort', over)
})

const limit = 30000 // for an answer, in milliseconds

let ahead = 0 // milliseconds by which the clock of the host is ahead of this one

// setClock learns the time of the host: a signature is good for some minutes.
export async function setClock() {
  try {
    const answer = await fetch('/healthz', { cache: 'no-store' })
    const date = Date.parse(answer.headers.get('Date'))
    if (date) ahead = date - Date.now()
  } catch { /* the next request says that the host does not answer */ }
}

// now is the time of the host.
export const now = () => Date.now() + ahead

// call sends a request, and returns its answer. A stream has a signal that ends it; everything else has to be answered within a limit.
async function call(method, address, headers, text, signal) {
  if (text) headers['Content-Type'] = 'application/json'
  let answer
  try {
    answer = await fetch(address, { method, headers, body: text || undefined, signal: signal || AbortSignal.timeout(limit), cache: 'no-store', credentials: 'omit' })
  } catch (problem) {
    if (signal && signal.aborted) throw problem
    throw new Unreachable('The host does not answer.')
  }
  if (answer.ok) return answer
  const said = await answer.json().catch(() => ({}))
  throw new Refused(answer.status, (said.__type || '').split('#').pop(), said.message || said.Message || `The host answers with status ${answer.status}.`, said.groups)
}

// anonymous sends requests without a key, for those who sign in.
export const anonymous = {
  get: async path => (await call('GET', path, {})).json(),
  post: async (path, body) => (await call('POST', path, {}, JSON.stringify(body))).json(),
}

export class Client {
  constructor(session) { this.session = session }

  // send signs a request and sends it, and returns its answer.
  async send(method, path, { parameters = {}, body, signal } = {}) {
    const search = query(parameters)
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = this.session.ends > now() && await sign(this.session, { method, path, search, body: text, now: now() })
    if (!headers) throw new Refused(403, 'ExpiredTokenException', 'Your session is over: sign in again.')
    return call(method, path + (search && '?' + search), headers, text, signal)
  }

  async get(path, parameters) { return (await this.send('GET', path, { parameters })).json() }

  async post(path, body = {}) {
    const text = await (await this.send('POST', path, { body })).text()
    return text ? JSON.parse(text) : {}
  }

  // operation is one of ECS.
  operation(name, input) { return this.post('/v1/' + name, input) }

  // tasks are those of a cluster, all pages.
  async tasks(cluster) {
    const all = []
    for (let after; ;) {
      const page = await this.get('/v1/tasks', { cluster, after })
      all.push(...page.tasks)
      if (!page.next) return all
      after = page.next
    }
  }

  // lines calls take with each line of an answer as it comes.
  async lines(path, parameters, take, signal) {
    const answer = await this.send('GET', path, { parameters, signal })
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      const lines = (rest + value).split('\n')
      rest = lines.pop()
      for (const line of lines) take(line)
    }
    if (rest) take(rest)
  }

  // events calls take with {id, kind, detail} for each state change, and with {id} for heartbeats, until the host ends the stream.
  async events(parameters, take, signal) {
    let event = {}
    await this.lines('/v1/events', parameters, line => {
      if (line.startsWith('id: ')) event.id = line.slice(4)
      else if (line.startsWith('event: ')) event.kind = line.slice(7)
      else if (line.startsWith('data: ')) event.data = JSON.parse(line.slice(6))
      else if (line === '' && event.id) {
        take({ ...event.data, id: event.id, kind: event.kind })
        event = {}
      }
    }, signal)
  }
}
