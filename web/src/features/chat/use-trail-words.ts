import type { Stage } from '@/api/generated/events';
import { formatBytes } from '@/lib/bytes';
import { useI18n } from '@/lib/i18n/locale';
import { own } from '@/lib/own';
import { formatDuration } from '@/lib/time';

/** Says what a stage of the pipeline decided. */
export function useTrailWords(): (stage: Stage) => string {
  const { t, tag, translate } = useI18n();
  const words = t.tools.stage;
  const said = (word: string) => own(words.said, word) ?? word;
  const repaired = (repair: string) => own(words.repairs, repair) ?? repair;
  const list = (items: string[]) => new Intl.ListFormat(tag, { style: 'short' }).format(items);
  const ruleName = (rule: string) => rule.replace(/^allowance (?=\S+$)/, words.allowance);
  return (stage) => {
    switch (stage.stage) {
      case 'resolve':
        return stage.repaired_from ? words.repaired(stage.repaired_from, stage.tool) : stage.tool;
      case 'check':
        if (stage.problem) return words.checkFailed;
        return stage.repairs?.length ? words.checkRepaired(list(stage.repairs.map(repaired))) : words.checkOk;
      case 'judge':
        return [said(stage.verdict), stage.rule && ruleName(stage.rule)].filter(Boolean).join(' · ');
      case 'cache':
        return said(stage.found);
      case 'limit':
        if (stage.refused) return words.refused;
        return stage.waited_ms > 0 ? words.waited(formatDuration(stage.waited_ms, tag)) : words.free;
      case 'breaker':
        return said(stage.state);
      case 'run':
        return words.ran(stage.attempt, formatDuration(stage.ms, tag));
      case 'client':
        return words.ranAt(stage.name, formatDuration(stage.ms, tag));
      case 'hook':
        return `${stage.name} · ${said(stage.did)}`;
      case 'fallback':
        return words.instead(stage.by, (stage.notice && translate(stage.notice)) ?? stage.because);
      case 'skipped':
        return said(stage.guard);
      case 'bound':
        return words.bytes(formatBytes(stage.kept_bytes, tag), formatBytes(stage.whole_bytes, tag));
    }
  };
}
