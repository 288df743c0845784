// What is known of the pool: read once, then kept up to date by its events. Whoever shows it is told of changes, ten times a second at most.
import { Refused, now, setClock, sleep } from './api.js'
import { idOf, millis } from './format.js'

// unknown are the errors that a key gets which is none any more.
export const unknown = ['UnrecognizedClientException', 'ExpiredTokenException', 'InvalidSignatureException']

// pause is the least time between two readings of the same list, in milliseconds: many changes come together.
const pause = { hosts: 2000, gpus: 5000, queue: 1000, services: 2000 }
const frame = 100 // between two drawings, in milliseconds
const silence = 40000 // after which a stream is given up: the host says every 15 s that it lives
const maxWait = 30000 // between two attempts to reach the host
const maxEvents = 500 // that are kept to be shown
const maxStopped = 5000 // stopped tasks that are kept
const stoppedFor = 3600 * 1000 // and for how long

// listed is what is kept of a task: events have far more.
const listed = t => ({
  taskArn: t.taskArn, taskDefinitionArn: t.taskDefinitionArn, containerInstanceArn: t.containerInstanceArn, group: t.group, lastStatus: t.lastStatus, desiredStatus: t.desiredStatus,
  createdAt: t.createdAt, startedAt: t.startedAt, stoppedAt: t.stoppedAt, stopCode: t.stopCode, stoppedReason: t.stoppedReason, attributes: t.attributes, version: t.version,
  containers: (t.containers || []).map(c => ({ gpuIds: c.gpuIds, exitCode: c.exitCode, reason: c.reason })),
})

// kept is what was read, with what is known already in place of what is the same: what shows it is not drawn anew then.
function kept(known, read) {
  const before = new Map(known.map(item => [item.uuid, item]))
  return read.map(item => {
    const same = before.get(item.uuid)
    return same && JSON.stringify(same) === JSON.stringify(item) ? same : item
  })
}

export class Store {
  constructor(client) {
    this.client = client
    this.me = null
    this.hosts = []
    this.hostByID = new Map()
    this.gpus = []
    this.usage = new Map() // by UUID
    this.tasks = new Map() // by id
    this.holders = new Map() // tasks by the UUIDs of their GPUs
    this.services = new Map() // by ARN
    this.queue = []
    this.clusters = []
    this.events = [] // the newest first
    this.last = {} // id of the last event of each stream: one that breaks off goes on from there
    Object.assign(this, { connected: false, ready: false, problem: '' })
    this.listeners = new Set()
    this.lists = {} // by name: what is going on with its reading
    this.end = new AbortController()
  }

  // subscribe returns the function that ends it.
  subscribe(listener) {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  changed() {
    if (this.scheduled) return
    this.scheduled = true
    setTimeout(() => {
      this.scheduled = false
      for (const listener of this.listeners) listener()
    }, document.hidden ? 1000 : frame)
  }

  // run keeps everything up to date until stop.
  async run() {
    this.poll()
    for (let wait = 1000; !this.end.signal.aborted; wait = Math.min(2 * wait, maxWait)) {
      try {
        await this.follow(() => { wait = 1000 })
        this.problem = 'The host has ended the stream of events.'
      } catch (problem) {
        if (this.end.signal.aborted) return
        this.problem = problem.message
        if (problem instanceof Refused && problem.status < 500) this.last = {} // too old to go on from, maybe
        if (problem instanceof Refused && unknown.includes(problem.kind)) {
          this.refused = problem
          this.stop()
        }
      }
      this.connected = false
      this.changed()
      await sleep(wait, this.end.signal)
    }
  }

  stop() { this.end.abort() }

  // scopes are what lists are asked for: a key for several clusters names them one by one.
  scopes() { return this.me.cluster && this.me.cluster.includes(',') ? this.me.cluster.split(',') : [undefined] }

  // follow reads everything once its streams of events have begun, and then takes what they bring. settled is called when all is read.
  async follow(settled) {
    await setClock()
    this.me = await this.client.get('/v1/whoami')
    const stream = new AbortController()
    const stop = () => stream.abort()
    this.end.signal.addEventListener('abort', stop)
    let silent
    const watch = () => { clearTimeout(silent); silent = setTimeout(stop, silence) }
    let loaded = false
    const early = []
    const begun = []
    const streams = this.scopes().map(cluster => new Promise((resolve, reject) => {
      begun.push(new Promise(begin => {
        this.client.events({ cluster, since: this.last[cluster || ''] }, event => {
          watch()
          begin()
          this.last[cluster || ''] = event.id
          loaded ? this.take(event) : early.push(event)
        }, stream.signal).then(resolve, reject)
      }))
    }))
    const ended = Promise.race(streams)
    ended.catch(() => {})
    watch()
    try {
      await Promise.race([Promise.all(begun), ended]) // a stream that fails fails all
      await this.load()
      loaded = true
      early.forEach(event => this.take(event))
      this.connected = this.ready = true
      this.problem = ''
      this.changed()
      settled()
      await ended
    } catch (problem) {
      throw stream.signal.aborted && !this.end.signal.aborted ? new Error('The host has gone silent.') : problem
    } finally {
      clearTimeout(silent)
      stream.abort()
      this.end.signal.removeEventListener('abort', stop)
    }
  }

  async load() {
    this.clusters = []
    for (let nextToken; ;) {
      const page = await this.client.operation('ListClusters', { nextToken })
      this.clusters.push(...page.clusterArns.map(idOf))
      nextToken = page.nextToken
      if (!nextToken) break
    }
    await Promise.all(Object.keys(pause).map(what => this.read(what)))
    const tasks = new Map()
    for (const cluster of this.clusters) {
      for (const task of await this.client.tasks(cluster)) tasks.set(idOf(task.taskArn), task)
    }
    this.tasks = tasks
    this.holders = new Map()
    for (const task of tasks.values()) this.hold(task)
  }

  // all is what a list has, of all scopes.
  async all(path) { return (await Promise.all(this.scopes().map(cluster => this.client.get(path, { cluster })))).flat() }

  async read(what) {
    switch (what) {
      case 'hosts':
        this.hosts = await this.all('/v1/hosts')
        this.hostByID = new Map(this.hosts.map(h => [h.id, h]))
        break
      case 'gpus': this.gpus = kept(this.gpus, await this.all('/v1/gpus')); break
      case 'queue': this.queue = await this.all('/v1/queue'); break
      case 'services': await this.readServices(); break
    }
    this.changed()
  }

  async readServices() {
    const all = new Map()
    for (const cluster of this.clusters) {
      try {
        for (let nextToken; ;) {
          const page = await this.client.operation('ListServices', { cluster, nextToken, maxResults: 10 })
          if (page.serviceArns.length) {
            const { services } = await this.client.operation('DescribeServices', { cluster, services: page.serviceArns })
            services.forEach(s => all.set(s.serviceArn, s))
          }
          nextToken = page.nextToken
          if (!nextToken) break
        }
      } catch (problem) {
        if (problem.kind !== 'ClusterNotFoundException') throw problem // it was deleted meanwhile
      }
    }
    this.services = all
  }

  // hold notes whose the GPUs of a task are: the list of GPUs is read more seldom than tasks change.
  hold(task) {
    for (const container of task.containers || []) {
      for (const uuid of container.gpuIds || []) {
        if (task.lastStatus !== 'STOPPED') this.holders.set(uuid, task)
        else if (this.holders.has(uuid) && this.holders.get(uuid).taskArn === task.taskArn) this.holders.delete(uuid)
      }
    }
  }

  // holderOf is the task that has a GPU; of one that the user's key does not see, next to nothing.
  holderOf(gpu) {
    const known = this.holders.get(gpu.uuid)
    if (known || !gpu.task || this.tasks.has(gpu.task)) return known
    return { taskArn: gpu.task, taskDefinitionArn: gpu.definition || '' }
  }

  // hostOf is the host of a task; undefined while it has none.
  hostOf(task) { return this.hostByID.get(idOf(task.containerInstanceArn)) }

  // take takes a change over.
  take({ id, kind, time, detail, resources }) {
    if (!detail) return
    this.events.unshift({ id, kind, time, detail: kind === 'task' ? listed(detail) : detail, of: (resources || []).map(idOf).join(' ') })
    if (this.events.length > maxEvents) this.events.length = maxEvents
    switch (kind) {
      case 'task': this.takeTask(listed(detail)); break
      case 'host': this.soon('hosts', 'gpus'); break
      case 'gpu': this.soon('gpus'); break
      case 'leader': this.soon('hosts'); break
      case 'cluster': this.takeCluster(detail); break
      default: this.soon('services') // services, deployments, hooks
    }
    this.changed()
  }

  takeCluster({ clusterName, status }) {
    const others = this.clusters.filter(name => name !== clusterName)
    this.clusters = status === 'INACTIVE' ? others : [...others, clusterName]
  }

  takeTask(task) {
    const id = idOf(task.taskArn)
    const known = this.tasks.get(id)
    if (known && known.version > task.version) return
    this.tasks.set(id, task)
    this.hold(task)
    this.soon('hosts')
    if (task.lastStatus === 'PROVISIONING' || !known || known.lastStatus === 'PROVISIONING') this.soon('queue')
    if ((task.group || '').startsWith('service:')) this.soon('services')
  }

  // soon reads lists anew: once for the changes of a moment, no more often than the pause of each, and again when something changed while it was read.
  soon(...all) {
    for (const what of all) {
      const list = this.lists[what] || (this.lists[what] = { readAt: 0 })
      list.old = true
      if (!list.going) this.keep(what, list)
    }
  }

  async keep(what, list) {
    list.going = true
    for (let wait = pause[what]; list.old && !this.end.signal.aborted;) {
      await sleep(Math.max(50, list.readAt + wait - performance.now()), this.end.signal)
      list.old = false
      try {
        if (!this.end.signal.aborted) await this.read(what)
        wait = pause[what]
      } catch { // a host that does not answer is said by the stream of events
        list.old = true
        wait = Math.min(2 * wait, maxWait)
      }
      list.readAt = performance.now()
    }
    list.going = false
  }

  // poll reads what no event tells: how GPUs are used, which hosts are heard of. And it forgets old tasks.
  async poll() {
    for (let round = 0; !this.end.signal.aborted; round++) {
      this.forget()
      if (!document.hidden && this.connected) {
        try {
          const answers = await Promise.all(this.scopes().map(cluster => this.client.get('/v1/gpus/usage', { cluster })))
          this.usage = new Map(kept([...this.usage.values()], answers.flatMap(a => a.gpus)).map(u => [u.uuid, u]))
          if (round % 3 === 0) this.soon('hosts', 'gpus', 'queue', 'services')
        } catch { /* likewise */ }
        this.changed()
      }
      await sleep(5000, this.end.signal)
    }
  }

  forget() {
    const old = now() - stoppedFor
    const stopped = [...this.tasks].filter(([, task]) => task.lastStatus === 'STOPPED')
    stopped.slice(0, Math.max(0, stopped.length - maxStopped)).forEach(([id]) => this.tasks.delete(id))
    for (const [id, task] of stopped) if (millis(task.stoppedAt) < old) this.tasks.delete(id)
  }
}
