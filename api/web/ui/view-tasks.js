// Tasks, and one task.
import { useEffect, useRef, useState } from 'preact/hooks'
import { now } from './api.js'
import { age, attribute, clock, idOf, millis, nameOf, shortID, span } from './format.js'
import { Action, Facts, Problem, Status, Table, html, useAnswer } from './parts.js'
import { follow } from './log.js'
import { gpuWord } from './view-pool.js'
import { Terminal, Terminals } from './view-terminal.js'

// outcome is the exit codes and reasons of a task that has stopped.
function outcome(task) {
  if (task.lastStatus !== 'STOPPED') return ''
  const codes = (task.containers || []).map(c => c.exitCode).filter(c => c !== undefined)
  const reason = (task.containers || []).map(c => c.reason).find(Boolean) || (task.stopCode === 'EssentialContainerExited' ? '' : task.stoppedReason)
  return [codes.join(','), reason].filter(v => v !== undefined && v !== '').join(' ')
}

const clusterOf = task => (task.taskArn || '').split('/')[1]

export function Tasks({ store, search }) {
  const [stopped, set] = useState(false)
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const all = [...store.tasks.values()].filter(task => {
    if (!stopped && task.lastStatus === 'STOPPED') return false
    if (!words.length) return true
    const host = store.hostOf(task)
    const text = [idOf(task.taskArn), nameOf(task.taskDefinitionArn), task.group, task.lastStatus, host && host.name, clusterOf(task), outcome(task)].join(' ').toLowerCase()
    return words.every(word => text.includes(word))
  }).sort((a, b) => millis(b.createdAt) - millis(a.createdAt))
  return html`
    <div class="choices"><label><input type="checkbox" checked=${stopped} onChange=${e => set(e.target.checked)} /> those that have stopped, too</label><span class="hint">${all.length} of ${store.tasks.size}</span></div>
    <${Table} items=${all} link=${task => '#/tasks/' + idOf(task.taskArn)} empty="No task." columns=${[
      ['Task', t => shortID(idOf(t.taskArn)), 'code'],
      ['Definition', t => nameOf(t.taskDefinitionArn)],
      ['Status', t => html`<${Status} is=${t.lastStatus} />`],
      ['GPUs', gpuWord, 'number'],
      ['Host', t => (store.hostOf(t) || {}).name || ''],
      ['Group', t => t.group],
      ['Age', t => age(t.createdAt), 'number'],
      ['Exit, reason', outcome],
    ]} />`
}

// steps are the times of a task, and what it does from each of them on.
const steps = [['createdAt', 'submitted', 'waits'], ['pullStartedAt', 'pull began', 'pulls'], ['pullStoppedAt', 'pull ended', 'is being started'], ['startedAt', 'started', 'runs'], ['stoppingAt', 'was told to stop', 'is being stopped'], ['executionStoppedAt', 'containers ended', 'is being cleaned up'], ['stoppedAt', 'stopped']]

const lasting = ms => ms < 10000 ? Math.round(ms) + ' ms' : span(ms)

// traceOf is the life of a task as steps {text, at, does, takes, phase}; the last one of a task that has not stopped takes until now.
function traceOf(task) {
  const begun = steps.map(([name, text, does], phase) => ({ text, does, phase, at: task[name] && millis(task[name]) })).filter(s => s.at).sort((a, b) => a.at - b.at)
  return begun.map((step, i) => ({ ...step, takes: i + 1 < begun.length ? begun[i + 1].at - step.at : step.does ? Math.max(0, now() - step.at) : 0 }))
}

// Life is the times of a task, and a picture of how long each step took.
function Life({ task }) {
  const trace = traceOf(task)
  return html`
    <div class="trace" role="img" aria-label=${trace.filter(s => s.takes).map(s => `${s.does} ${lasting(s.takes)}`).join(', ')}>${trace.filter(s => s.takes > 0).map(s => html`<i class=${'phase' + s.phase} style=${{ flexGrow: s.takes }} title=${`${s.does}: ${lasting(s.takes)}`}></i>`)}</div>
    <ol class="life">${trace.map(s => html`<li><span>${clock(s.at / 1000)}</span> ${s.does ? html`<i class=${'phase' + s.phase}></i> ` : ''}${s.text}${s.does ? html` <em>${s.does} ${lasting(s.takes)}</em>` : ''}</li>`)}</ol>`
}

const maxLines = 5000 // of a log that are kept
const maxText = 10000 // characters of a line that are shown

// Log follows the log of a task. Lines say of which container they are where there are several.
function Log({ store, id, several }) {
  const [lines, set] = useState([])
  const [problem, fail] = useState()
  const end = useRef()
  const follows = useRef(true)
  useEffect(() => {
    const stop = new AbortController()
    let kept = [], count = 0, drawn = false
    const draw = () => { drawn = false; if (!stop.signal.aborted) set(kept.slice(-maxLines)) }
    follow(store, id, line => {
      kept.push({ n: count++, error: line.stream === 'stderr', text: (several ? line.container + ' | ' : '') + line.text.slice(0, maxText) })
      if (kept.length > 2 * maxLines) kept = kept.slice(-maxLines)
      if (!drawn) { drawn = true; setTimeout(draw, 100); fail() }
    }, fail, stop.signal)
    return () => stop.abort()
  }, [id])
  useEffect(() => { if (follows.current && end.current) end.current.scrollTop = end.current.scrollHeight }, [lines])
  const scrolled = e => { follows.current = e.target.scrollTop + e.target.clientHeight > e.target.scrollHeight - 30 }
  return html`
    <h2>Log</h2><${Problem} of=${problem} />
    <pre class="log" tabindex="0" aria-label="Log" ref=${end} onScroll=${scrolled}>${lines.map(l => html`<span key=${l.n} class=${l.error ? 'stderr' : ''}>${l.text}\n</span>`)}</pre>`
}

// Why says why a task is where it is, in the words of the scheduler.
function Why({ store, task }) {
  const id = idOf(task.taskArn)
  const { value, problem } = useAnswer(() => store.client.get(`/v1/tasks/${id}/explain`), [id, task.lastStatus, Math.floor(now() / 5000)])
  if (problem) return html`<${Problem} of=${problem} />`
  if (!value) return html`<p class="hint">...</p>`
  const nameOfHost = id => (store.hostByID.get(id) || {}).name || shortID(id)
  return html`
    <p>${value.summary}</p>
    ${value.estimate && html`<p class="hint">Earliest start: ${value.estimate}</p>`}
    ${(value.holders || []).length > 0 && html`<p>What it needs is held by ${value.holders.map((h, i) => html`${i ? ', ' : ''}<a href=${'#/tasks/' + h.taskId}>${shortID(h.taskId)}</a>`)}.</p>`}
    ${(value.hosts || []).length > 0 && html`<${Table} items=${value.hosts} columns=${[['Host', h => nameOfHost(h.hostId)], ['Reason', h => h.reason], ['Detail', h => h.detail]]} />`}`
}

export function Task({ store, id }) {
  const [container, open] = useState()
  const task = store.tasks.get(id)
  const described = useAnswer(async () => {
    for (const cluster of task ? [clusterOf(task)] : store.clusters) {
      const { tasks } = await store.client.operation('DescribeTasks', { cluster, tasks: [id], include: ['TAGS'] })
      if (tasks.length) return tasks[0]
    }
    throw new Error(`There is no task ${id}, or your key does not see it. Tasks that have ended long ago: pinion history.`)
  }, [id, task && task.lastStatus, task && task.version])
  const is = described.value || task
  if (!is) return html`<${Problem} of=${described.problem} />`
  const host = store.hostOf(is)
  const cluster = clusterOf(is)
  const ended = is.lastStatus === 'STOPPED'
  return html`
    <h1><span class="code">${shortID(id)}</span> ${nameOf(is.taskDefinitionArn)} <${Status} is=${is.lastStatus} /></h1>
    <div class="choices">
      ${!ended && html`<${Action} store=${store} role="submit" title="Stop task" text=${`Task ${shortID(id)} gets SIGTERM, and SIGKILL after its stop timeout.`}
        commands=${[`pinion stop ${shortID(id)}`, `aws ecs stop-task --cluster ${cluster} --task ${id}`]}
        act=${() => store.client.operation('StopTask', { cluster, task: id, reason: 'stopped on the web page' })} />`}
      ${!ended && html`<${Terminals} store=${store} task=${is} open=${open} />`}
    </div>
    ${container && html`<${Terminal} store=${store} id=${id} container=${container} close=${() => open()} />`}
    <${Facts} of=${[
      ['Cluster', cluster], ['Group', is.group], ['Host', host && html`<a href=${'#/hosts/' + host.id}>${host.name}</a>`], ['GPUs', gpuWord(is)],
      ['Started by', is.startedBy], ['Team', ((is.tags || []).find(t => t.key === 'pinion.team') || {}).value], ['Access key', attribute(is, 'pinion.key')],
      ['Stopped because', is.stoppedReason], ['Exit', outcome(is)],
    ]} />
    ${(is.containers || []).length > 0 && is.containers[0].name && html`<${Table} items=${is.containers} columns=${[
      ['Container', c => c.name], ['Image', c => c.image, 'wrap'], ['Status', c => html`<${Status} is=${c.lastStatus} />`], ['Exit', c => c.exitCode === undefined ? '' : String(c.exitCode), 'number'], ['Reason', c => c.reason],
      ['GPUs', c => (c.gpuIds || []).join(' '), 'code wrap'], ['Ports', c => (c.networkBindings || []).map(b => `${b.hostPort}:${b.containerPort}/${b.protocol}`).join(' ')],
    ]} />`}
    ${!ended && is.lastStatus === 'PROVISIONING' && html`<h2>Why it waits</h2><${Why} store=${store} task=${is} />`}
    <h2>Life</h2><${Life} task=${is} />
    ${is.containerInstanceArn && html`<${Log} store=${store} id=${id} several=${(is.containers || []).length > 1} />`}`
}
