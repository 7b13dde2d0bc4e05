-- Health of an NFSBenchmark: did it run to its end, and was it good?
--
-- A verdict that could not be reached is Degraded, and not Unknown as that of an
-- AnalysisRun: a sync wave waits forever on Unknown, and fails on Degraded.
-- Nothing beyond the base library is used: argocd-cm gives a script no other.

local function condition(kind)
  for _, c in ipairs(obj.status.conditions or {}) do
    if c.type == kind then
      return c
    end
  end
  return {}
end

local function health(status, default, prefix)
  local message = obj.status and obj.status.message
  if message == nil or message == "" then
    message = default
  elseif prefix ~= nil then
    message = prefix .. ": " .. message
  end
  return { status = status, message = message }
end

local status = obj.status
if status == nil or status.phase == nil or status.observedGeneration == nil then
  return { status = "Progressing", message = "The operator has not looked at the benchmark yet" }
end
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "The operator has not seen the last change yet" }
end

if status.phase == "Pending" and obj.spec.suspend == true then
  return health("Suspended", "Held back by spec.suspend")
end

local underWay = { Pending = true, Queued = true, Provisioning = true, Preparing = true, Running = true, Collecting = true }
if underWay[status.phase] then
  return health("Progressing", "The benchmark is " .. status.phase)
end

if status.phase == "Failed" or condition("Stalled").status == "True" then
  return health("Degraded", "The benchmark failed")
end
if status.phase == "Cancelled" then
  return health("Degraded", "The benchmark was stopped")
end

-- The conditions explain a phase of a later version.
if status.phase ~= "Succeeded" and condition("Ready").status ~= "True" then
  return health("Progressing", "The benchmark is " .. status.phase)
end

if status.verdict == "Fail" then
  return health("Degraded", "The thresholds were not met", "The thresholds were not met")
end
if status.verdict == "Inconclusive" then
  return health("Degraded", "No verdict could be reached", "No verdict could be reached")
end
if status.validity == "Invalid" then
  return health("Degraded", "The numbers may not be believed", "The numbers may not be believed")
end
return health("Healthy", "The benchmark ran to its end")
