obj.spec.suspend = false
if obj.spec.schedule ~= nil then
  obj.spec.schedule.suspend = false
end
return obj
