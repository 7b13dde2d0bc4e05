-- Health of an NFSBenchmarkSuite. One that runs once is a job: Progressing until
-- its run is judged. One with a schedule is a watch: its newest finished run says
-- how it is, also while the next is under way, or every run would hold up every
-- sync that happens meanwhile.
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
  return { status = "Progressing", message = "The operator has not looked at the suite yet" }
end
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "The operator has not seen the last change yet" }
end

if status.phase == "Failed" or condition("Stalled").status == "True" then
  return health("Degraded", "The suite failed")
end
if status.phase == "Cancelled" then
  return health("Degraded", "The run was stopped")
end
if status.phase == "Suspended" then
  return health("Suspended", "Held back by suspend")
end

local scheduled = obj.spec.schedule ~= nil
if status.phase == "Pending" or (status.phase == "Running" and not scheduled) then
  return health("Progressing", "The suite is " .. status.phase)
end

-- The conditions explain a phase of a later version.
local known = status.phase == "Succeeded" or status.phase == "Scheduled" or status.phase == "Running"
if not known and condition("Ready").status ~= "True" then
  return health("Progressing", "The suite is " .. status.phase)
end

local newest = (status.history or {})[1] or {}
if newest.phase == "Failed" then
  return health("Degraded", "The newest run did not succeed", "The newest run did not succeed")
end
if status.verdict == "Regressed" then
  return health("Degraded", "The newest run is worse than the accepted one", "Regressed")
end
if status.verdict == "Fail" then
  return health("Degraded", "The thresholds were not met", "The thresholds were not met")
end
if status.verdict == "Inconclusive" then
  return health("Degraded", "No verdict could be reached", "No verdict could be reached")
end
if scheduled and status.phase == "Running" then
  return health("Healthy", "A run is under way")
end
return health("Healthy", "The suite is " .. status.phase)
