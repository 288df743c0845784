// The queue, services, hosts and events.
import { useState } from 'preact/hooks'
import { age, clock, idOf, mib, nameOf, plural, shortID } from './format.js'
import { Action, Facts, Problem, Status, Table, html, useAnswer, word } from './parts.js'

const matches = (search, ...words) => search.toLowerCase().split(/\s+/).every(word => words.join(' ').toLowerCase().includes(word))

// queuedGPUs is what a waiting task asks for: a number of GPUs, those of which any will do, or memory of one that others share.
const queuedGPUs = q => q.gpuAlternatives || (q.gpuMemoryMiB ? mib(q.gpuMemoryMiB) : q.gpus ? String(q.gpus) : '')

export function Queue({ store, search }) {
  const items = store.queue.filter(q => matches(search, q.taskId, q.definition, q.team, q.group, q.cluster, q.waitsFor))
  return html`<${Table} items=${items} link=${q => '#/tasks/' + q.taskId} empty="Nothing waits." columns=${[
    ['Place', q => String(q.place || ''), 'number'], ['Task', q => shortID(q.taskId), 'code'], ['Definition', q => q.definition], ['Tasks', q => String(q.tasks || 1), 'number'], ['GPUs', queuedGPUs, 'number'],
    ['Team', q => q.team], ['Priority', q => String(q.priority), 'number'], ['Cluster', q => q.cluster], ['Waits', q => age(q.since), 'number'], ['For', q => q.waitsFor],
  ]} />`
}

export function Services({ store, search }) {
  const all = [...store.services.values()].filter(s => s.status !== 'INACTIVE' && matches(search, s.serviceName, s.clusterArn, s.taskDefinition || ''))
  return html`<${Table} items=${all} link=${s => '#/services/' + encodeURIComponent(s.serviceArn)} empty="No service." columns=${[
    ['Service', s => s.serviceName], ['Cluster', s => idOf(s.clusterArn)], ['Status', s => html`<${Status} is=${s.status} />`], ['Running', s => `${s.runningCount} of ${s.desiredCount}`, 'number'], ['Pending', s => String(s.pendingCount), 'number'],
    ['Definition', s => nameOf(s.taskDefinition)], ['Rollout', s => (s.deployments || []).length ? html`<${Status} is=${s.deployments[0].rolloutState || ''} />` : ''],
  ]} />`
}

export function Service({ store, id }) {
  const s = store.services.get(id)
  if (!s) return html`<p class="empty">There is no such service, or your key does not see it.</p>`
  return html`
    <h1>${s.serviceName} <${Status} is=${s.status} /></h1>
    <${Facts} of=${[['Cluster', idOf(s.clusterArn)], ['Running', `${s.runningCount} of ${s.desiredCount}, ${s.pendingCount} pending`], ['Definition', nameOf(s.taskDefinition)], ['Made', age(s.createdAt) + ' ago']]} />
    <h2>Deployments</h2>
    <${Table} items=${s.deployments || []} columns=${[
      ['Deployment', d => d.id, 'code'], ['Definition', d => nameOf(d.taskDefinition)], ['State', d => html`<${Status} is=${d.rolloutState || d.status} />`],
      ['Progress', d => html`<progress max=${Math.max(1, d.desiredCount)} value=${d.runningCount}></progress> ${d.runningCount} of ${d.desiredCount}`], ['Failed', d => String(d.failedTasks || 0), 'number'], ['Reason', d => d.rolloutStateReason],
    ]} />
    <h2>Events</h2>
    <ol class="life">${(s.events || []).slice(0, 50).map(e => html`<li><span>${clock(e.createdAt)}</span> ${e.message}</li>`)}</ol>`
}

const free = (host, what) => host.free && host.free[what]

export function Hosts({ store, search }) {
  const all = store.hosts.filter(h => matches(search, h.name, h.id, h.cluster, h.address, h.role, h.status))
  return html`<${Table} items=${all} link=${h => '#/hosts/' + h.id} empty="No host." columns=${[
    ['Host', h => h.name], ['Cluster', h => h.cluster], ['Status', h => html`<${Status} is=${h.lostAt ? 'LOST' : h.connected ? h.status : 'DOWN'} />`], ['Role', h => h.role],
    ['Free GPUs', h => `${((h.free || {}).gpus || []).length}/${((h.gpus || {}).devices || []).length}`, 'number'], ['Free CPU', h => `${Math.floor((free(h, 'cpu') || 0) / 1024)}/${Math.floor(h.cpu / 1024)}`, 'number'],
    ['Free memory', h => `${mib(free(h, 'memoryMiB') || 0)} of ${mib(h.memoryMiB)}`, 'number'], ['Tasks', h => String(h.tasks || 0), 'number'], ['Version', h => h.version], ['Address', h => h.address, 'code'],
  ]} />`
}

// Doctor is what a host finds of its machine, once it is asked to look: it takes a while.
function Doctor(props) {
  const [asked, ask] = useState(false)
  return asked ? html`<${Findings} ...${props} />` : html`<button onClick=${() => ask(true)}>Have the host look at its machine</button>`
}

function Findings({ store, id }) {
  const { value, problem } = useAnswer(() => store.client.get(`/v1/admin/hosts/${id}/doctor`), [id])
  if (problem) return html`<${Problem} of=${problem} />`
  if (!value) return html`<p class="hint">The host looks at its machine ...</p>`
  return html`<${Table} items=${value.findings || value} columns=${[['Check', f => f.check], ['', f => html`<${Status} is=${f.level} />`], ['Found', f => f.found], ['What to do', f => f.do || '']]} />`
}

export function Host({ store, id }) {
  const host = store.hostByID.get(id)
  if (!host) return html`<p class="empty">There is no such host, or your key does not see it.</p>`
  const gpus = store.gpus.filter(g => g.hostId === id)
  const tasks = [...store.tasks.values()].filter(t => idOf(t.containerInstanceArn) === id && t.lastStatus !== 'STOPPED')
  const change = status => store.client.operation('UpdateContainerInstancesState', { cluster: host.cluster, containerInstances: [id], status })
  const aws = status => `aws ecs update-container-instances-state --cluster ${word(host.cluster)} --container-instances ${id} --status ${status}`
  return html`
    <h1>${host.name} <${Status} is=${host.lostAt ? 'LOST' : host.connected ? host.status : 'DOWN'} /></h1>
    <div class="choices">${host.status === 'ACTIVE'
      ? html`<${Action} store=${store} role="admin" title="Drain host" text=${`${host.name} gets no new tasks. Those of services move to other hosts, the others run to their end.`} commands=${[`pinion drain ${word(host.name)}`, aws('DRAINING')]} act=${() => change('DRAINING')} />`
      : html`<${Action} store=${store} role="admin" title="Activate host" text=${`${host.name} gets new tasks again.`} commands=${[`pinion activate ${word(host.name)}`, aws('ACTIVE')]} act=${() => change('ACTIVE')} />`}</div>
    <${Facts} of=${[['Cluster', host.cluster], ['Role', host.role], ['Address', host.address], ['Version', host.version], ['CPU', `${Math.floor(host.cpu / 1024)} cores`], ['Memory', mib(host.memoryMiB)], ['Joined', age(host.registeredAt) + ' ago'], ['Id', host.id],
      ['Attributes', Object.entries({ ...host.attributes, ...host.custom }).map(([k, v]) => `${k}=${v}`).join(', ')]]} />
    ${gpus.length > 0 && html`<h2>${plural(gpus.length, 'GPU')}</h2><${Table} items=${gpus} columns=${[
      ['GPU', g => String(g.index), 'number'], ['Model', g => g.model + (g.simulated ? ' (simulated)' : '')], ['Health', g => html`<${Status} is=${g.health} />`], ['Memory', g => mib(g.memoryMiB), 'number'],
      ['Used', g => { const u = store.usage.get(g.uuid); return u && u.utilization !== undefined ? u.utilization + ' %' : '' }, 'number'], ['Task', g => { const t = store.holderOf(g); return t ? html`<a href=${'#/tasks/' + idOf(t.taskArn)}>${nameOf(t.taskDefinitionArn) || shortID(idOf(t.taskArn))}</a>` : (g.shares || []).length ? plural(g.shares.length, 'share') : '' }], ['UUID', g => g.uuid, 'code wrap'],
    ]} />`}
    <h2>${plural(tasks.length, 'task')}</h2>
    <${Table} items=${tasks} link=${t => '#/tasks/' + idOf(t.taskArn)} empty="It runs no task." columns=${[['Task', t => shortID(idOf(t.taskArn)), 'code'], ['Definition', t => nameOf(t.taskDefinitionArn)], ['Status', t => html`<${Status} is=${t.lastStatus} />`], ['Age', t => age(t.createdAt), 'number']]} />
    ${store.me.role === 'admin' && html`<h2>What the host finds of its machine</h2><${Doctor} store=${store} id=${id} />`}`
}

// about is what a change is about, in a few words.
function about({ kind, detail, of }) {
  switch (kind) {
    case 'task': return `${shortID(idOf(detail.taskArn))} ${nameOf(detail.taskDefinitionArn)} ${detail.lastStatus} ${detail.stoppedReason || ''}`
    case 'host': return `${detail.ec2InstanceId || ''} ${detail.change || detail.status || ''}`
    case 'leader': return `${detail.host} leads, term ${detail.term}`
    case 'cluster': return `${detail.clusterName} ${detail.status}`
    case 'gpu': return `${detail.host || ''} ${detail.uuid || detail.gpuId || ''} ${detail.health || ''} ${detail.problem || ''}`
  }
  return [of, detail.serviceName, detail.eventName, detail.reason, detail.message].filter(Boolean).join(' ')
}

export function Events({ store, search }) {
  const all = store.events.filter(e => matches(search, e.kind, about(e)))
  return html`<p class="hint">What has changed since this page was opened, the newest first.</p><${Table} items=${all} keyOf=${e => e.id} empty="Nothing has changed since." columns=${[['Time', e => clock(e.time)], ['Kind', e => e.kind], ['What', about]]} />`
}

// Usage is GPU time by team and day, of tasks that have ended and that run.
export function Usage({ store }) {
  const { value, problem } = useAnswer(() => store.client.get('/v1/usage', { by: 'team,day', since: '336h', running: 'true' }), [])
  if (problem) return html`<${Problem} of=${problem} />`
  if (!value) return html`<p class="hint">...</p>`
  const rows = value.rows || value.usage || []
  const hours = row => (row.gpuSeconds || 0) / 3600
  const days = [...new Set(rows.map(r => r.day))].sort()
  const teams = [...new Set(rows.map(r => r.team || ''))].sort()
  const most = Math.max(1e-9, ...days.map(day => rows.filter(r => r.day === day).reduce((n, r) => n + hours(r), 0)))
  return html`
    <h1>GPU hours by team, the last 14 days</h1>
    <div class="bars" role="img" aria-label="GPU hours by day">${days.map(day => html`<div title=${day}><span class="bar">${teams.map(team => {
      const n = rows.filter(r => r.day === day && (r.team || '') === team).reduce((n, r) => n + hours(r), 0)
      return n > 0 && html`<i class=${'team' + teams.indexOf(team) % 8} style=${{ height: 100 * n / most + '%' }} title=${`${team || 'no team'}: ${n.toFixed(1)} h`}></i>`
    })}</span><small>${(day || '').slice(5)}</small></div>`)}</div>
    <${Table} items=${teams} empty="No GPU was used." columns=${[['Team', t => html`<i class=${'dot team' + teams.indexOf(t) % 8}></i> ${t || 'no team'}`], ['GPU hours', t => rows.filter(r => (r.team || '') === t).reduce((n, r) => n + hours(r), 0).toFixed(2), 'number'], ['Tasks', t => String(rows.filter(r => (r.team || '') === t).reduce((n, r) => n + (r.tasks || 0), 0)), 'number']]} />`
}
